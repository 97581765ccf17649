from trl import GRPOConfig
config = GRPOConfig(num_generations=8, learning_rate=