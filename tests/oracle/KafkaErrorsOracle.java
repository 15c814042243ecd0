import java.lang.reflect.Modifier;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.protocol.Errors;

/** Prints Kafka's errors: code (empty: none), name, class, whether clients may retry, message; and Connect's classes. */
public class KafkaErrorsOracle {
    private static final List<String> PACKAGES = List.of(
        "org/apache/kafka/common/errors", "org/apache/kafka/connect/errors",
        "org/apache/kafka/connect/runtime/distributed", "org/apache/kafka/connect/runtime/rest/errors");

    /** By name: where brokers alone are, Connect's is not. */
    private static final List<String> RETRIABLE = List.of(
        "org.apache.kafka.common.errors.RetriableException", "org.apache.kafka.connect.errors.RetriableException");

    public static void main(String[] args) throws Exception {
        Set<String> coded = new HashSet<>();
        for (Errors error : Errors.values()) {
            if (error.exception() == null) continue;
            coded.add(error.exception().getClass().getName());
            print("" + error.code(), error.name(), error.exception().getClass(), error.message());
        }
        for (String jar : System.getProperty("java.class.path").split(":")) {
            if (!jar.endsWith(".jar")) continue;
            try (FileSystem zip = FileSystems.newFileSystem(URI.create("jar:file:" + jar), Map.of())) {
                for (String each : PACKAGES) printClasses(zip.getPath(each), coded);
            }
        }
    }

    private static void printClasses(Path directory, Set<String> coded) throws Exception {
        if (!Files.isDirectory(directory)) return;
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.collect(Collectors.toList())) {
                String name = file.toString().replaceFirst("^/", "").replace('/', '.');
                if (!name.endsWith("Exception.class") || coded.contains(name.replaceAll("\\.class$", ""))) continue;
                Class<?> found = Class.forName(name.replaceAll("\\.class$", ""), false, KafkaErrorsOracle.class.getClassLoader());
                print("", "", found, "");
            }
        }
    }

    private static void print(String code, String name, Class<?> found, String message) {
        boolean retriable = false;
        for (Class<?> each = found; each != null; each = each.getSuperclass()) retriable |= RETRIABLE.contains(each.getName());
        System.out.println(String.join("\t", code, name, found.getName(), "" + retriable, message.replace('\n', ' ')));
    }
}
