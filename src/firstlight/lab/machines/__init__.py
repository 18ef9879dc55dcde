"""Virtual Talos machines: settings, nodes, commissioning."""
