"""How courier is made, from nothing: orders and conversations, tokenizer, training, measurements, card and trace.

    python -m kvlab.models.training.tokenizer   # learn the tokenizer (seconds)
    python -m kvlab.models.training.train       # learn the weights (less than an hour of one CPU core)
    python -m kvlab.models.training.evaluate    # measure the model, write measurements.json, trace.json and the card

Each takes `--folder`, where the model lies (default: the folder that ships). Nothing is downloaded.
"""
