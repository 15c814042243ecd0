import java.util.Properties;
import java.util.Scanner;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A transactional producer of Java's client that takes its steps from standard input: begin, send TOPIC VALUE, commit,
 * abort. It answers each one with a line of JSON. Arguments: bootstrap servers and transactional ID.
 */
public class SteppedProducer {
    public static void main(String[] args) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("transactional.id", args[1]);
        settings.put("transaction.timeout.ms", "600000");
        KafkaProducer<String, String> producer =
            new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        Scanner steps = new Scanner(System.in);
        while (steps.hasNextLine()) {
            String[] step = steps.nextLine().split(" ");
            String failed = "";
            try {
                switch (step[0]) {
                    case "begin" -> producer.beginTransaction();
                    case "send" -> producer.send(new ProducerRecord<>(step[1], step[2])).get();
                    case "commit" -> producer.commitTransaction();
                    case "abort" -> producer.abortTransaction();
                    default -> throw new IllegalArgumentException(step[0]);
                }
            } catch (Exception error) {
                failed = error.getClass().getSimpleName();
            }
            System.out.println("{\"failed\": \"" + failed + "\"}");
        }
        System.exit(0);
    }
}
