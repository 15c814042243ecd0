import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Scanner;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.transaction.KafkaTransactionManager;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.DefaultTransactionDefinition;

/**
 * A transaction manager and a read_committed consumer of Spring, told by lines what to do.
 *
 * Arguments: bootstrap servers, topic, transactionIdPrefix, transaction timeout in ms. Each line of standard input is
 * answered by `ok`, with a count where records were read, or by `refused`.
 */
public class SpringClient {
    private static final String LAST = "last";
    private final String topic;
    private final Map<String, Object> settings = new HashMap<>();
    private KafkaTemplate<String, String> template;
    private KafkaTransactionManager<String, String> manager;
    private TransactionStatus begun;
    private Consumer<String, String> consumer;
    private final Queue<ConsumerRecord<String, String>> fetched = new ArrayDeque<>();

    private SpringClient(String servers, String topic) {
        this.topic = topic;
        settings.put("bootstrap.servers", servers);
        settings.put("client.id", "spring-client");
        settings.put("key.serializer", StringSerializer.class);
        settings.put("value.serializer", StringSerializer.class);
        settings.put("key.deserializer", StringDeserializer.class);
        settings.put("value.deserializer", StringDeserializer.class);
        settings.put("isolation.level", "read_committed");
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", false);
    }

    private void start(String prefix, String timeoutMs) {
        settings.put("transaction.timeout.ms", timeoutMs);
        DefaultKafkaProducerFactory<String, String> factory = new DefaultKafkaProducerFactory<>(settings);
        factory.setTransactionIdPrefix(prefix);
        template = new KafkaTemplate<>(factory);
        manager = new KafkaTransactionManager<>(factory);
        manager.rollback(manager.getTransaction(new DefaultTransactionDefinition()));
    }

    private void write(List<String> values) throws Exception {
        if (begun == null) {
            begun = manager.getTransaction(new DefaultTransactionDefinition());
        }
        for (String value : values) {
            template.send(topic, value).get();
        }
    }

    private void end(boolean commit) {
        TransactionStatus ending = begun;
        begun = null;
        if (commit) {
            manager.commit(ending);
        } else {
            manager.rollback(ending);
        }
    }

    private ConsumerRecord<String, String> next() {
        while (fetched.isEmpty()) {
            consumer.poll(Duration.ofSeconds(1)).forEach(fetched::add);
        }
        return fetched.remove();
    }

    private void read(String group, int count) {
        consumer = new DefaultKafkaConsumerFactory<String, String>(settings).createConsumer(group, null);
        consumer.subscribe(List.of(topic));
        ConsumerRecord<String, String> read = null;
        for (int each = 0; each < count; each++) {
            read = next();
        }
        consumer.commitSync(Map.of(
            new org.apache.kafka.common.TopicPartition(topic, read.partition()),
            new org.apache.kafka.clients.consumer.OffsetAndMetadata(read.offset() + 1)));
    }

    private String obey(String[] words) throws Exception {
        switch (words[0]) {
            case "write" -> write(java.util.Collections.nCopies(Integer.parseInt(words[1]), "value"));
            case "last" -> {
                write(List.of(LAST));
                end(true);
            }
            case "commit" -> end(true);
            case "abort" -> end(false);
            case "read" -> read(words[1], Integer.parseInt(words[2]));
            case "rest" -> {
                int count = 0;
                while (!next().value().equals(LAST)) {
                    count++;
                }
                return "ok " + count;
            }
            default -> throw new IllegalArgumentException(words[0]);
        }
        return "ok";
    }

    public static void main(String[] args) {
        SpringClient client = new SpringClient(args[0], args[1]);
        if (!args[2].isEmpty()) {
            client.start(args[2], args[3]);
        }
        System.out.println("ok");
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            try {
                System.out.println(client.obey(lines.nextLine().split(" ")));
            } catch (Exception error) {
                System.out.println("refused " + error);
            }
        }
        System.exit(0);
    }
}
