from trl import GRPOConfig
a = b
b = a
GRPOConfig(num_generations=a, beta=b)
