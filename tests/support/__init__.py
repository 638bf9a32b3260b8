"""What tests of several rooms share: drivers, workflows, strategies, slow models to compare with, and checks."""
