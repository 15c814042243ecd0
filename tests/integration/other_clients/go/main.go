// A transactional producer and a read_committed consumer of franz-go or Sarama, told by lines what to do.
//
// Arguments: franz-go or sarama, bootstrap servers, topic, transactional ID, transaction timeout in ms. Each line of
// standard input is answered by `ok`, with a count where records were read, or by `refused`.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
)

const last = "last"

type library interface {
	start() error
	begin() error
	send(value string) error
	end(commit bool) error
	subscribe(group string) error
	next() (string, error)
	commitOffset() error
}

type settings struct {
	servers []string
	topic   string
	name    string
	timeout time.Duration
}

type franz struct {
	settings
	producer *kgo.Client
	consumer *kgo.Client
	pending  []*kgo.Record
	record   *kgo.Record
}

func (f *franz) start() (err error) {
	f.producer, err = kgo.NewClient(kgo.SeedBrokers(f.servers...), kgo.ClientID("franz-go-client"),
		kgo.TransactionalID(f.name), kgo.TransactionTimeout(f.timeout), kgo.DefaultProduceTopic(f.topic))
	if err == nil {
		_, _, err = f.producer.ProducerID(context.Background())
	}
	return err
}

func (f *franz) begin() error { return f.producer.BeginTransaction() }

func (f *franz) send(value string) error {
	return f.producer.ProduceSync(context.Background(), kgo.StringRecord(value)).FirstErr()
}

func (f *franz) end(commit bool) error {
	return f.producer.EndTransaction(context.Background(), kgo.TransactionEndTry(commit))
}

func (f *franz) subscribe(group string) (err error) {
	f.consumer, err = kgo.NewClient(kgo.SeedBrokers(f.servers...), kgo.ClientID("franz-go-client"),
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(f.topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	return err
}

func (f *franz) next() (string, error) {
	for len(f.pending) == 0 {
		fetches := f.consumer.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			return "", err
		}
		f.pending = fetches.Records()
	}
	f.record, f.pending = f.pending[0], f.pending[1:]
	return string(f.record.Value), nil
}

func (f *franz) commitOffset() error { return f.consumer.CommitRecords(context.Background(), f.record) }

type claimed struct {
	session sarama.ConsumerGroupSession
	message *sarama.ConsumerMessage
}

type ibm struct {
	settings
	config   *sarama.Config
	producer sarama.SyncProducer
	claims   chan claimed
	now      claimed
}

func newSarama(s settings) *ibm {
	config := sarama.NewConfig()
	config.ClientID = "sarama-client"
	config.Version = sarama.V2_8_0_0
	config.Net.MaxOpenRequests = 1
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Transaction.ID = s.name
	config.Producer.Transaction.Timeout = s.timeout
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	return &ibm{settings: s, config: config, claims: make(chan claimed)}
}

func (s *ibm) start() (err error) {
	s.producer, err = sarama.NewSyncProducer(s.servers, s.config)
	return err
}

func (s *ibm) begin() error { return s.producer.BeginTxn() }

func (s *ibm) send(value string) error {
	_, _, err := s.producer.SendMessage(&sarama.ProducerMessage{Topic: s.topic, Value: sarama.StringEncoder(value)})
	return err
}

func (s *ibm) end(commit bool) error {
	if commit {
		return s.producer.CommitTxn()
	}
	return s.producer.AbortTxn()
}

func (s *ibm) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (s *ibm) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (s *ibm) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		s.claims <- claimed{session, message}
	}
	return nil
}

func (s *ibm) subscribe(group string) error {
	s.config.Producer.Transaction.ID = ""
	members, err := sarama.NewConsumerGroup(s.servers, group, s.config)
	if err == nil {
		go func() {
			for members.Consume(context.Background(), []string{s.topic}, s) == nil {
			}
		}()
	}
	return err
}

func (s *ibm) next() (string, error) {
	s.now = <-s.claims
	return string(s.now.message.Value), nil
}

func (s *ibm) commitOffset() error {
	s.now.session.MarkMessage(s.now.message, "")
	s.now.session.Commit()
	return nil
}

type client struct {
	library
	begun bool
}

func (c *client) write(values ...string) error {
	if !c.begun {
		if err := c.begin(); err != nil {
			return err
		}
		c.begun = true
	}
	for _, value := range values {
		if err := c.send(value); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) finish(commit bool) error {
	err := c.end(commit)
	if err == nil {
		c.begun = false
	}
	return err
}

func (c *client) read(group string, count int) error {
	if err := c.subscribe(group); err != nil {
		return err
	}
	for range count {
		if _, err := c.next(); err != nil {
			return err
		}
	}
	return c.commitOffset()
}

func (c *client) rest() (count int, err error) {
	for value := ""; ; count++ {
		if value, err = c.next(); err != nil || value == last {
			return count, err
		}
	}
}

func (c *client) obey(words []string) (more string, err error) {
	switch words[0] {
	case "write":
		count, _ := strconv.Atoi(words[1])
		return "", c.write(make([]string, count)...)
	case "last":
		if err = c.write(last); err != nil {
			return "", err
		}
		return "", c.finish(true)
	case "commit", "abort":
		return "", c.finish(words[0] == "commit")
	case "read":
		count, _ := strconv.Atoi(words[2])
		return "", c.read(words[1], count)
	case "rest":
		count, err := c.rest()
		return fmt.Sprint(" ", count), err
	}
	return "", fmt.Errorf("unknown command %v", words)
}

func answer(more string, err error) {
	if err != nil {
		fmt.Println("refused", err)
		return
	}
	fmt.Println("ok" + more)
}

func main() {
	milliseconds, _ := strconv.Atoi(os.Args[5])
	timeout := time.Duration(milliseconds) * time.Millisecond
	named := settings{strings.Split(os.Args[2], ","), os.Args[3], os.Args[4], timeout}
	libraries := map[string]library{"franz-go": &franz{settings: named}, "sarama": newSarama(named)}
	told := client{library: libraries[os.Args[1]]}
	if named.name == "" {
		answer("", nil)
	} else {
		answer("", told.start())
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		answer(told.obey(strings.Fields(lines.Text())))
	}
}
