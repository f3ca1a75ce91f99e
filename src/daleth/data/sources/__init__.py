"""Where trajectories come from; each is reached through a method of `Trajectories`."""
