from trl import GRPOConfig
GRPOConfig(num_generations='\0', output_dir='\ud800')
