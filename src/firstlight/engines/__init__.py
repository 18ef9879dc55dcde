"""What differs between Flux and Argo CD: one adapter each, and what is asked of both."""
