"""What an instructor needs, made from what the labs declare: answers, likely wrong answers, slides without either."""
