"""What is wrong with a cluster: rules from what was seen to symptoms, and from these to the cause."""
