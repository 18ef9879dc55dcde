"""An Omni cluster template as the source of a lab's machines and their configs."""
