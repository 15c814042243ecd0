import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A transaction that ends while one of its partitions has no leader is completed without its marker there. When the leader
 * is back, the transaction is open in that partition for ever: the last stable offset does not move.
 *
 * Arguments: bootstrap servers that stay up, and the ID of the broker that is to be stopped and started again, by hand,
 * when the program asks for it. Transactional IDs need a coordinator that stays up: with two brokers, one of them the only
 * controller, set transaction.state.log.replication.factor=1 and transaction.state.log.min.isr=1.
 * Needs kafka-clients only. Exit code 0: reproduced, 1: not.
 */
public class ForgottenMarkers {
    private static final long DEADLINE_MS = 120_000;
    private static final long PATIENCE_MS = 10_000;

    public static void main(String[] args) throws Exception {
        int victim = Integer.parseInt(args[1]);
        String topic = "forgotten-markers-" + System.currentTimeMillis();
        TopicPartition partition = new TopicPartition(topic, 0);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
            admin.createTopics(List.of(new NewTopic(topic, Map.of(0, List.of(victim))))).all().get();
            String id = null;
            KafkaProducer<String, String> producer = null;
            for (int number = 0; id == null; number++) {
                String candidate = topic + "-" + number;
                producer = producer(args[0], candidate);
                producer.initTransactions();
                if (admin.describeTransactions(List.of(candidate)).all().get().get(candidate).coordinatorId() != victim) {
                    id = candidate;
                } else {
                    producer.close();
                }
            }
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, "key", "value")).get();

            System.out.println("STOP broker " + victim);
            await(() -> leader(admin, topic) == null);
            producer.abortTransaction();
            String known = id;
            TransactionState state = ended(admin, known);
            System.out.println("without leader, the coordinator calls the aborted transaction " + state);

            System.out.println("START broker " + victim);
            await(() -> leader(admin, topic) != null);
            boolean moved = movesOn(admin, partition);
            System.out.println("last stable offset " + offset(admin, partition, IsolationLevel.READ_COMMITTED)
                + ", high watermark " + offset(admin, partition, IsolationLevel.READ_UNCOMMITTED)
                + ", state " + admin.describeTransactions(List.of(known)).all().get().get(known).state());
            boolean reproduced = state == TransactionState.COMPLETE_ABORT && !moved;
            System.out.println(reproduced ? "REPRODUCED: the marker was never written" : "NOT REPRODUCED");
            System.exit(reproduced ? 0 : 1);
        }
    }

    private static KafkaProducer<String, String> producer(String servers, String id) {
        Map<String, Object> settings = Map.of("bootstrap.servers", servers, "transactional.id", id);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private static Node leader(Admin admin, String topic) throws Exception {
        Node leader = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().get(0).leader();
        return leader == null || leader.isEmpty() ? null : leader;
    }

    /** The state that it comes to: complete, or after some time still not. */
    private static TransactionState ended(Admin admin, String id) throws Exception {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (true) {
            TransactionState state = admin.describeTransactions(List.of(id)).all().get().get(id).state();
            if (state == TransactionState.COMPLETE_ABORT || System.currentTimeMillis() > deadline) return state;
            Thread.sleep(100);
        }
    }

    /** Whether the last stable offset reaches the high watermark within some seconds. */
    private static boolean movesOn(Admin admin, TopicPartition partition) throws Exception {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (System.currentTimeMillis() < deadline) {
            long stable = offset(admin, partition, IsolationLevel.READ_COMMITTED);
            if (stable > 0 && stable == offset(admin, partition, IsolationLevel.READ_UNCOMMITTED)) return true;
            Thread.sleep(100);
        }
        return false;
    }

    private static long offset(Admin admin, TopicPartition partition, IsolationLevel level) throws Exception {
        return admin.listOffsets(Collections.singletonMap(partition, OffsetSpec.latest()), new ListOffsetsOptions(level))
            .partitionResult(partition).get().offset();
    }

    private static void await(Callable<Boolean> condition) throws Exception {
        long deadline = System.currentTimeMillis() + DEADLINE_MS;
        while (!condition.call()) {
            if (System.currentTimeMillis() > deadline) throw new IllegalStateException("waited too long");
            Thread.sleep(100);
        }
    }
}
