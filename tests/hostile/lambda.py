from trl import GRPOConfig
GRPOConfig(num_generations=(lambda: __import__('os').system('touch owned'))(), **{'beta': open('owned', 'w')})
