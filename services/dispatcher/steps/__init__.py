"""The steps that a pipeline is made of: each does its part of a pass, on what the pass has so far.

They call other services by the methods of stages.py alone; one_pass.py ties them to the steps of a pipeline."""
