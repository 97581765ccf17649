from trl import GRPOConfig
GRPOConfig(num_generations=9**9**9**9, learning_rate=10**10**10, run_name='a'*10**10, report_to=[1]*10**9)
