import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

/** Reads properties files, each a length and its bytes, as a Kafka client does, and answers each with a line of JSON. */
public class PropertiesOracle {
    public static void main(String[] args) throws IOException {
        DataInputStream questions = new DataInputStream(System.in);
        while (true) {
            byte[] file;
            try {
                file = new byte[questions.readInt()];
            } catch (java.io.EOFException end) {
                return;
            }
            questions.readFully(file);
            System.out.println(answer(file));
            System.out.flush();
        }
    }

    private static String answer(byte[] file) throws IOException {
        Properties properties = new Properties();
        try {
            properties.load(new ByteArrayInputStream(file));
        } catch (IllegalArgumentException malformed) {
            return "{\"malformed\":true}";
        }
        StringBuilder json = new StringBuilder("{\"properties\":{");
        String comma = "";
        for (Map.Entry<Object, Object> entry : new TreeMap<>(properties).entrySet()) {
            json.append(comma).append(quoted(entry.getKey())).append(':').append(quoted(entry.getValue()));
            comma = ",";
        }
        return json.append("}}").toString();
    }

    private static String quoted(Object text) {
        StringBuilder json = new StringBuilder("\"");
        for (char unit : text.toString().toCharArray()) {
            json.append(String.format("\\u%04x", (int) unit));
        }
        return json.append('"').toString();
    }
}
