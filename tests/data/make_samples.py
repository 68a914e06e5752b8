# SPDX-License-Identifier: Apache-2.0
# make_samples.py: writes wire/, npy/ and ckpt/ with real TensorFlow and NumPy; run by hand.
import numpy as np, os, sys
os.environ['TF_CPP_MIN_LOG_LEVEL']='3'
import tensorflow as tf
from google.protobuf import text_format
D = os.path.dirname(os.path.abspath(__file__)) + '/'
def save(name, m):
    open(D+'wire/'+name+'.pb','wb').write(m.SerializeToString(deterministic=True))
    open(D+'wire/'+name+'.pbtxt','w').write(text_format.MessageToString(m))
g=tf.Graph()
with g.as_default():
    x=tf.compat.v1.placeholder(tf.float32,[None,3],name='x')
    w=tf.constant([[1.5,2],[3,-4.25],[5,1e-20]],name='w')
    y=tf.nn.relu(tf.matmul(x,w),name='y')
    tf.constant([b'a\0b', b'\xff\xfe', 'é\n"\''.encode()],name='strs')
    tf.constant(np.float16(1.5)); tf.constant(np.ones([4,4],np.int8)); tf.constant(1+2j,tf.complex64)
    tf.constant(True); tf.constant([1,2,3],tf.uint16); tf.constant(7,tf.uint64); tf.zeros([100],tf.int64)
    tf.constant(float('inf')); tf.constant([float('nan'),-0.0,0.1,1/3],tf.float64)
    tf.cond(tf.reduce_sum(x)>0, lambda: x*2, lambda: x-1)
    i=tf.while_loop(lambda i: i<10, lambda i: [i+1],[tf.constant(0)])
    with tf.device('/cpu:0'): tf.strings.join([['q'],['r']],separator='\t')
save('graph', g.as_graph_def(add_shapes=True))
c=tf.compat.v1.ConfigProto(); c.device_count['CPU']=2; c.device_count['GPU']=0; c.gpu_options.allow_growth=True; c.gpu_options.per_process_gpu_memory_fraction=0.25
c.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[128,256.5]); c.intra_op_parallelism_threads=4; c.allow_soft_placement=True
c.graph_options.rewrite_options.constant_folding=1; c.graph_options.optimizer_options.opt_level=-1; c.operation_timeout_in_ms=-5
c.session_inter_op_thread_pool.add(num_threads=3,global_name='p')
save('config', c)
ro=tf.compat.v1.RunOptions(trace_level=3, timeout_in_ms=1<<40); save('run_options', ro)
# a SavedModel
class M(tf.Module):
    def __init__(self): self.v=tf.Variable([1.,2.,3.])
    @tf.function(input_signature=[tf.TensorSpec([None,3],tf.float32,name='x')])
    def __call__(self,x): return {"out":x*self.v}
m=M(); tf.saved_model.save(m,'/tmp/ferry_samples_sm',signatures=m.__call__)
from tensorflow.core.protobuf import saved_model_pb2
sm=saved_model_pb2.SavedModel(); sm.ParseFromString(open('/tmp/ferry_samples_sm/saved_model.pb','rb').read())
open(D+'wire/saved_model.pb','wb').write(sm.SerializeToString(deterministic=True))
# npy
np.save(D+'npy/f4.npy', np.arange(6,dtype='<f4').reshape(2,3))
np.save(D+'npy/be_fortran_i2.npy', np.asfortranarray(np.arange(24,dtype='>i2').reshape(2,3,4)))
np.save(D+'npy/u.npy', np.array(['é','','abc😀']))
np.save(D+'npy/s.npy', np.array([[b'x',b'yz\0q']]))
np.save(D+'npy/c16_be.npy', np.array([1+2j],dtype='>c16'))
np.save(D+'npy/scalar_b.npy', np.array(True))
np.save(D+'npy/object.npy', np.array([{}],dtype=object),allow_pickle=True)
with open(D+'npy/v3.npy','wb') as f: np.lib.format.write_array(f,np.array([7],np.uint64),version=(3,0))
with open(D+'npy/v2.npy','wb') as f: np.lib.format.write_array(f,np.array([1.5],np.float16),version=(2,0))
np.savez(D+'npy/stored.npz', a=np.arange(3), b=np.zeros((2,0),np.int8))
np.savez_compressed(D+'npy/deflated.npz', a=np.arange(300)%7, b=np.array(['q']), r=np.random.RandomState(1).bytes(300) and np.frombuffer(np.random.RandomState(1).bytes(300),np.uint8))
# checkpoint
A=np.arange(20,dtype=np.float32).reshape(5,4); C=(np.arange(600)%251).astype(np.int32).reshape(3,200)
S=np.array([[b'a',b'bb'],[b'',b'd\0']])
one=[('part','5 4 0,3:-',A[:3]),('cols','3 200 -:0,100',C[:,:100]),('cols','3 200 -:100,100',C[:,100:]),
 ('strs_part','2 2 0,1:-',tf.constant(S[:1].tolist())),('strs_part','2 2 1,1:-',tf.constant([[b'',b'd\0']])),
 ('w/kernel','',np.array([[1.5,-2],[3,4]],np.float32)),('scalar','',np.int64(42)),('half','',np.array([1,2,3],np.float16)),
 ('bf','',tf.constant([1,2],tf.bfloat16)),('flag','',np.array([True,False])),('c','',np.array([1+2j],np.complex128)),
 ('empty','',np.zeros([0,3],np.float32)),('strings','',tf.constant([b'hello', b'', b'w\0rld'*30]))]
two=[('part','5 4 3,2:-',A[3:])]+[('layer_with_a_long_name_%02d/bias'%i,'',np.float32(i)) for i in range(60)]
for k,l in enumerate([one,two]):
    tf.raw_ops.SaveV2(prefix='/tmp/ferry_samples_part%d'%k,tensor_names=[x[0] for x in l],shape_and_slices=[x[1] for x in l],tensors=[x[2] for x in l])
tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=['/tmp/ferry_samples_part0','/tmp/ferry_samples_part1'],destination_prefix=D+'ckpt/model',delete_old_dirs=False)
