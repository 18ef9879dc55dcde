"""Components that change sides: what the repo must say, what a cold start makes of it, the steps on the cluster."""
