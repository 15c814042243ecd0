import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.Map;

/** Reads resources (one JSON object a line) into Strimzi's and Kubernetes' model classes, and writes them again. */
public class StrimziOracle {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final Map<String, String> CLASSES = Map.of(
        "KafkaConnect", "io.strimzi.api.kafka.model.connect.KafkaConnect",
        "KafkaConnector", "io.strimzi.api.kafka.model.connector.KafkaConnector",
        "KafkaMirrorMaker2", "io.strimzi.api.kafka.model.mirrormaker2.KafkaMirrorMaker2",
        "KafkaUser", "io.strimzi.api.kafka.model.user.KafkaUser",
        "ConfigMap", "io.fabric8.kubernetes.api.model.ConfigMap",
        "CronJob", "io.fabric8.kubernetes.api.model.batch.v1.CronJob");

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(MAPPER.writeValueAsString(answer(MAPPER.readTree(line))));
        }
    }

    private static ObjectNode answer(JsonNode resource) {
        ObjectNode answer = MAPPER.createObjectNode();
        try {
            Class<?> type = Class.forName(CLASSES.get(resource.get("kind").asText()));
            Object read = MAPPER.treeToValue(resource, type);
            answer.set("written", MAPPER.valueToTree(read));
            unknown(read, "", answer.putArray("unknown"), new IdentityHashMap<>());
        } catch (Exception | LinkageError error) {
            answer.put("error", error.toString());
        }
        return answer;
    }

    private static void unknown(
        Object value, String path, com.fasterxml.jackson.databind.node.ArrayNode found, Map<Object, Object> seen
    ) throws Exception {
        if (value instanceof Collection<?> values) {
            for (Object each : values) {
                unknown(each, path + "[]", found, seen);
            }
        } else if (value != null && isModel(value.getClass()) && seen.put(value, value) == null) {
            for (Method method : value.getClass().getMethods()) {
                if (method.getParameterCount() > 0 || !method.getName().startsWith("get")) {
                    continue;
                }
                Object member = method.invoke(value);
                if (method.getName().equals("getAdditionalProperties") && member != null) {
                    for (Object key : ((Map<?, ?>) member).keySet()) {
                        found.add(path + "." + key);
                    }
                } else {
                    unknown(member, path + "." + method.getName().substring(3), found, seen);
                }
            }
        }
    }

    private static boolean isModel(Class<?> type) {
        return !type.isEnum() && (type.getName().startsWith("io.strimzi.api.") || type.getName().startsWith("io.fabric8.kubernetes.api.model."));
    }
}
