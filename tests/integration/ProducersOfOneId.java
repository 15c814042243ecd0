import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Java's own producers, which fence each other in the ways that there are. Arguments: bootstrap servers, topic, and a
 * prefix of transactional IDs; each ID has the name of what its producers do.
 */
public class ProducersOfOneId {
    private static String servers;
    private static String topic;

    private static KafkaProducer<String, String> producer(String transactionalId, int timeoutMs) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("transactional.id", transactionalId);
        settings.put("transaction.timeout.ms", String.valueOf(timeoutMs));
        KafkaProducer<String, String> made = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        made.initTransactions();
        return made;
    }

    private static KafkaProducer<String, String> begun(KafkaProducer<String, String> producer) {
        producer.beginTransaction();
        producer.send(new ProducerRecord<>(topic, "value"));
        producer.flush();
        return producer;
    }

    private static void refused(KafkaProducer<String, String> fenced, boolean atWork) {
        try {
            (atWork ? fenced : begun(fenced)).commitTransaction();
        } catch (KafkaException error) {
            return;
        }
        throw new AssertionError("the old producer was not refused");
    }

    /** Whether it can commit a transaction, if need be after an abort. */
    private static boolean continues(KafkaProducer<String, String> producer) {
        try {
            begun(producer).commitTransaction();
        } catch (KafkaException error) {
            try {
                producer.abortTransaction();
                begun(producer).commitTransaction();
            } catch (KafkaException again) {
                return false;
            }
        }
        return true;
    }

    public static void main(String[] args) {
        servers = args[0];
        topic = args[1];
        String prefix = args[2];
        KafkaProducer<String, String> timedOut = begun(producer(prefix + "timed-out", 1000));
        KafkaProducer<String, String> older = begun(producer(prefix + "fenced-at-work", 60000));
        begun(producer(prefix + "fenced-at-work", 50000)).commitTransaction();
        refused(older, true);
        older = begun(producer(prefix + "fenced-idle", 60000));
        older.commitTransaction();
        producer(prefix + "fenced-idle", 60000);
        refused(older, false);
        KafkaProducer<String, String> goesOn = begun(producer(prefix + "aborts", 60000));
        goesOn.abortTransaction();
        begun(goesOn).commitTransaction();
        begun(producer(prefix + "closes-at-work", 60000)).close();
        producer(prefix + "closes-at-work", 60000);
        for (String each : List.of("first", "second", "third")) {
            producer(prefix + "writes-nothing", 60000);
        }
        System.out.println("done");
        if (args.length > 3) {
            new java.util.Scanner(System.in).nextLine();
            refused(timedOut, true);
            System.out.println(continues(goesOn) ? "continues" : "must be made again");
        }
        System.exit(0);
    }
}
