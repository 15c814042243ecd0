import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.FinalizedVersionRange;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * After transaction.version is lowered from 2 to 0, which is accepted without a warning, a producer that used version 2 fails for
 * ever, and no new producer of its transactional ID can be initialized until its coordinator loads the transaction log
 * again, not even after the feature was raised again.
 *
 * Arguments: bootstrap servers of one broker of 4.0 or newer with transaction.version 2, which you restart by hand
 * when the program asks for it. Needs kafka-clients only. Exit code 0: reproduced, 1: not.
 */
public class LoweredTransactionVersion {
    private static final String FEATURE = "transaction.version";
    private static final String TOPIC = "lowered-transaction-version";
    private static final int WAIT_MS = 8_000;

    public static void main(String[] args) throws Exception {
        String id = TOPIC + "-" + System.currentTimeMillis();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
            System.out.println(FEATURE + " is " + level(admin));
            if (level(admin) < 2) {
                System.out.println("NOT REPRODUCED");
                System.exit(1);
            }
            KafkaProducer<String, String> running = producer(args[0], id);
            running.initTransactions();
            String before = transaction(running);
            set(admin, 0, FeatureUpdate.UpgradeType.SAFE_DOWNGRADE);
            String after = transaction(running);
            String again = initialized(args[0], id);
            String other = initialized(args[0], id + "-other");
            System.out.println("its next transaction, before: " + before + ", after: " + after);
            System.out.println("a new producer of the same ID: " + again + ", of another ID: " + other);
            set(admin, 2, FeatureUpdate.UpgradeType.UPGRADE);
            String raised = initialized(args[0], id);
            System.out.println("a new producer of the same ID after the level was raised: " + raised);
            System.out.println("RESTART the broker");
            String restarted = raised;
            for (int tries = 0; tries < 10 && !restarted.equals("ok"); tries++) {
                restarted = initialized(args[0], id);
            }
            System.out.println("a new producer of the same ID after the restart: " + restarted);
            boolean reproduced = before.equals("ok") && !after.equals("ok") && !again.equals("ok")
                && other.equals("ok") && !raised.equals("ok") && restarted.equals("ok");
            System.out.println(reproduced ? "REPRODUCED: the ID was unusable until the restart" : "NOT REPRODUCED");
            System.exit(reproduced ? 0 : 1);
        }
    }

    private static short level(Admin admin) throws Exception {
        FinalizedVersionRange range = admin.describeFeatures().featureMetadata().get().finalizedFeatures().get(FEATURE);
        return range == null ? 0 : range.maxVersionLevel();
    }

    /** As `kafka-features.sh downgrade --feature transaction.version=0` and `upgrade` do it; returns when brokers know. */
    private static void set(Admin admin, int level, FeatureUpdate.UpgradeType type) throws Exception {
        FeatureUpdate update = new FeatureUpdate((short) level, type);
        admin.updateFeatures(Map.of(FEATURE, update), new UpdateFeaturesOptions()).all().get();
        while (level(admin) != level) {
            Thread.sleep(100);
        }
        System.out.println(FEATURE + " was set to " + level);
    }

    private static String transaction(KafkaProducer<String, String> producer) {
        try {
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(TOPIC, "key", "value"));
            producer.commitTransaction();
            return "ok";
        } catch (KafkaException error) {
            return error.getClass().getSimpleName() + ": " + error.getMessage();
        }
    }

    private static String initialized(String servers, String id) {
        try (KafkaProducer<String, String> producer = producer(servers, id)) {
            producer.initTransactions();
            return "ok";
        } catch (KafkaException error) {
            return error.getClass().getSimpleName();
        }
    }

    private static KafkaProducer<String, String> producer(String servers, String id) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", servers, "transactional.id", id, "max.block.ms", WAIT_MS);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }
}
