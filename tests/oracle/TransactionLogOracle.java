import java.io.DataInputStream;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Readable;

/**
 * Reads keys and values of the transaction log with Kafka's own generated classes.
 * Each question on stdin: a byte 'k' or 'v', an int32 length, the bytes. Each answer on stdout: one line of JSON,
 * {"version": n, "left": bytes not read, "data": ...} or {"refused": class of the exception}.
 */
public class TransactionLogOracle {
    private static final String[] PACKAGES = {
        "org.apache.kafka.coordinator.transaction.generated.", "kafka.internals.generated."
    };

    private final Constructor<?> constructor;
    private final Method toJson;
    private final short lowest;
    private final short highest;

    private TransactionLogOracle(String name) throws Exception {
        Class<?> type = find(name);
        constructor = type.getConstructor(Readable.class, short.class);
        toJson = find(name + "JsonConverter").getMethod("write", type, short.class);
        lowest = type.getField("LOWEST_SUPPORTED_VERSION").getShort(null);
        highest = type.getField("HIGHEST_SUPPORTED_VERSION").getShort(null);
    }

    private static Class<?> find(String name) throws ClassNotFoundException {
        for (String prefix : PACKAGES) {
            try {
                return Class.forName(prefix + name);
            } catch (ClassNotFoundException e) {
                continue;
            }
        }
        throw new ClassNotFoundException(name);
    }

    private String answer(byte[] bytes) throws Exception {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        try {
            short version = buffer.getShort();
            if (version < lowest || version > highest) {
                return "{\"refused\":\"version\"}";
            }
            Object data = constructor.newInstance(new ByteBufferAccessor(buffer), version);
            int left = buffer.remaining();
            return "{\"version\":" + version + ",\"left\":" + left + ",\"data\":" + toJson.invoke(null, data, version) + "}";
        } catch (InvocationTargetException e) {
            return "{\"refused\":\"" + e.getCause().getClass().getSimpleName() + "\"}";
        } catch (RuntimeException e) {
            return "{\"refused\":\"" + e.getClass().getSimpleName() + "\"}";
        }
    }

    public static void main(String[] args) throws Exception {
        TransactionLogOracle keys = new TransactionLogOracle("TransactionLogKey");
        TransactionLogOracle values = new TransactionLogOracle("TransactionLogValue");
        DataInputStream in = new DataInputStream(System.in);
        int kind = in.read();
        while (kind >= 0) {
            byte[] bytes = in.readNBytes(in.readInt());
            System.out.println((kind == 'k' ? keys : values).answer(bytes));
            System.out.flush();
            kind = in.read();
        }
    }
}
