import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.storage.OffsetUtils;

/**
 * Reads keys of an offsets topic, each a length and its bytes, and answers each with a line of JSON: murmur2, the
 * connector that the key names by OffsetUtils (null where it is ignored), and the key as the worker's own converter
 * writes it again.
 */
public class OffsetsOracle {
    private static final JsonConverter CONVERTER = new JsonConverter();

    public static void main(String[] args) throws IOException {
        CONVERTER.configure(Map.of("schemas.enable", "false"), true);
        DataInputStream questions = new DataInputStream(System.in);
        while (true) {
            byte[] key;
            try {
                key = new byte[questions.readInt()];
            } catch (EOFException end) {
                return;
            }
            questions.readFully(key);
            System.out.println(answer(key));
            System.out.flush();
        }
    }

    private static String answer(byte[] key) {
        Map<String, Set<Map<String, Object>>> partitions = new HashMap<>();
        OffsetUtils.processPartitionKey(key, new byte[0], CONVERTER, partitions);
        Object named = partitions.isEmpty() ? null : partitions.keySet().iterator().next();
        byte[] again = null;
        if (named != null) {
            again = CONVERTER.fromConnectData("", null, CONVERTER.toConnectData("", key).value());
        }
        return "{\"murmur2\":" + Utils.murmur2(key) + ",\"listed\":" + (named != null)
            + ",\"again\":" + (again == null ? "null" : "\"" + Base64.getEncoder().encodeToString(again) + "\"") + "}";
    }
}
