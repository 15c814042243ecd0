import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.UUID;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.ResponseHeader;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatRequest;

/** Joins a streams group (KIP-1071) with one subtopology over a topic, says its epoch, and stays for two minutes. */
public class StreamsGroupMember {
    public static void main(String[] arguments) throws Exception {
        String group = arguments[2];
        StreamsGroupHeartbeatRequestData data = new StreamsGroupHeartbeatRequestData()
            .setGroupId(group).setMemberId(UUID.randomUUID().toString()).setMemberEpoch(0)
            .setRebalanceTimeoutMs(60_000).setProcessId("process")
            .setActiveTasks(List.of()).setStandbyTasks(List.of()).setWarmupTasks(List.of())
            .setTopology(new StreamsGroupHeartbeatRequestData.Topology().setEpoch(0).setSubtopologies(List.of(
                new StreamsGroupHeartbeatRequestData.Subtopology().setSubtopologyId("0")
                    .setSourceTopics(List.of(arguments[3])))));
        try (Socket socket = new Socket(arguments[0], Integer.parseInt(arguments[1]))) {
            for (int number = 0; number < 120; number++) {
                StreamsGroupHeartbeatResponseData answer = exchange(socket, data, number);
                System.out.println(answer.errorCode() + " " + answer.memberEpoch() + " " + answer.errorMessage());
                System.out.flush();
                data.setMemberEpoch(answer.memberEpoch()).setTopology(null);
                Thread.sleep(1_000);
            }
        }
    }

    private static StreamsGroupHeartbeatResponseData exchange(
        Socket socket, StreamsGroupHeartbeatRequestData data, int number
    ) throws Exception {
        StreamsGroupHeartbeatRequest request = new StreamsGroupHeartbeatRequest.Builder(data).build((short) 0);
        RequestHeader header = new RequestHeader(ApiKeys.STREAMS_GROUP_HEARTBEAT, (short) 0, "member", number);
        ByteBuffer sent = request.serializeWithHeader(header);
        DataOutputStream out = new DataOutputStream(socket.getOutputStream());
        out.writeInt(sent.remaining());
        out.write(sent.array(), sent.arrayOffset() + sent.position(), sent.remaining());
        out.flush();
        DataInputStream in = new DataInputStream(socket.getInputStream());
        byte[] answer = new byte[in.readInt()];
        in.readFully(answer);
        ByteBuffer buffer = ByteBuffer.wrap(answer);
        ResponseHeader.parse(buffer, header.headerVersion() >= 2 ? (short) 1 : (short) 0);
        return new StreamsGroupHeartbeatResponseData(new ByteBufferAccessor(buffer), (short) 0);
    }
}
