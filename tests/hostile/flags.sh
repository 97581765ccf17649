python train.py --a --b --c= --=d ---e -f -1 -- --g h --num_generations --num_generations=8=9 --learning_rate 1e --beta .
