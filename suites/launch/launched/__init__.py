"""A world whose processes another launcher has started: how they find each other, and how they take part in a run."""
