python3 -m verl.trainer.main_ppo =1 ++=2 +a.b.=3 .c=4 d..e=5 'f g=6' ~h ~i=7 j=[1,{k:2},'l m'] m={} n= o==p q=r=s actor_rollout_ref.rollout.n=[1]
