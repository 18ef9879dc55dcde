"""firstlight.yaml: what the platform's owners declare, where reading alone cannot know."""
