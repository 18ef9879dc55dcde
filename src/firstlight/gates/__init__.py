"""Questions to the world: what to watch, and how to judge it. One file a subject; nothing here touches the world."""
