"""A scene around a pose, as a `Model`: bodies, robots and the features that are near each other, as expressions."""
