"""What each function of rows gives, as tables by family; `test_functions.py` goes through them."""
