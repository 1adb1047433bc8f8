"""What is minimised: blocks, forms, losses, penalties, models. Mathematics, no loops."""
