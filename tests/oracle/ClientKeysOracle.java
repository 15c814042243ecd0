import java.util.TreeSet;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;

/** Prints the keys that Kafka's clients know, one a line. */
public class ClientKeysOracle {
    public static void main(String[] args) {
        TreeSet<String> keys = new TreeSet<>(AdminClientConfig.configNames());
        keys.addAll(ProducerConfig.configNames());
        keys.addAll(ConsumerConfig.configNames());
        keys.forEach(System.out::println);
    }
}
