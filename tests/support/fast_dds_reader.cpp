// Reads a topic by Fast DDS and prints each message as hexadecimal digits: another vendor's eyes on what Granite sends.
// Usage: fast_dds_reader DOMAIN TOPIC TYPE COUNT
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>

using namespace eprosima::fastdds::dds;
using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::SerializedPayload_t;

// A message as it came, whatever is in it.
class Raw : public TopicDataType {
public:
    explicit Raw(const char* name) {
        setName(name);
        m_typeSize = 65536;
        m_isGetKeyDefined = false;
    }
    bool serialize(void*, SerializedPayload_t*) override { return false; }
    bool deserialize(SerializedPayload_t* payload, void* data) override {
        static_cast<std::vector<unsigned char>*>(data)->assign(payload->data, payload->data + payload->length);
        return true;
    }
    std::function<uint32_t()> getSerializedSizeProvider(void*) override { return [] { return 65536u; }; }
    void* createData() override { return new std::vector<unsigned char>; }
    void deleteData(void* data) override { delete static_cast<std::vector<unsigned char>*>(data); }
    bool getKey(void*, InstanceHandle_t*, bool) override { return false; }
};

int main(int, char** argv) {
    auto* participant =
        DomainParticipantFactory::get_instance()->create_participant(std::atoi(argv[1]), PARTICIPANT_QOS_DEFAULT);
    TypeSupport type(new Raw(argv[3]));
    type.register_type(participant);
    auto* topic = participant->create_topic(argv[2], argv[3], TOPIC_QOS_DEFAULT);
    DataReaderQos qos = DATAREADER_QOS_DEFAULT;
    qos.reliability().kind = RELIABLE_RELIABILITY_QOS;
    qos.history().kind = KEEP_ALL_HISTORY_QOS;
    auto* reader = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT)->create_datareader(topic, qos);
    std::puts("ready");
    std::fflush(stdout);
    std::vector<unsigned char> message;
    SampleInfo info;
    for (int left = std::atoi(argv[4]); left > 0;) {
        if (reader->take_next_sample(&message, &info) != ReturnCode_t::RETCODE_OK) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            continue;
        }
        if (!info.valid_data) continue;
        for (unsigned char byte : message) std::printf("%02x", byte);
        std::puts("");
        std::fflush(stdout);
        --left;
    }
    std::_Exit(0);
}
