"""Platform and objects in, plan out: steps, deadlocks, the boundary. Pure: nothing here calls anybody."""
