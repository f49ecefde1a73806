"""ONNX graphs written from a BERT's tensors: the encoder, and the late-interaction pair scorer.

Built with the onnx package alone; needs no training framework, and is right at every sequence length.
"""
