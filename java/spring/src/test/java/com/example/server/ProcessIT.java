package com.example.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.bson.types.ObjectId;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.data.mongodb.core.MongoOperations;
import org.springframework.data.mongodb.core.query.Criteria;
import org.springframework.data.mongodb.core.query.Query;
import org.springframework.data.mongodb.gridfs.GridFsOperations;
import org.springframework.data.mongodb.gridfs.GridFsUpload;

/** The jar as a user starts it. */
@SpringBootTest
class ProcessIT {

  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  private static ServerSocket silent; // accepts connections, and never answers
  private static Running server;

  @Autowired private MongoOperations mongodb;
  @Autowired private GridFsOperations gridFs;

  private record Running(Process process, int port, Path log) {

    static Running start(Path folder, Map<String, String> settings) throws IOException {
      Path log = Files.createTempFile("server", ".log");
      String java = ProcessHandle.current().info().command().orElseThrow();
      String jar = Path.of("target/server.jar").toAbsolutePath().toString();
      ProcessBuilder builder = new ProcessBuilder(java, "-jar", jar);
      int port = freePort();
      builder.environment().put("PORT", "" + port);
      builder.environment().putAll(settings);
      builder.environment().values().removeIf(String::isEmpty);
      builder.directory(folder.toFile()).redirectErrorStream(true).redirectOutput(log.toFile());
      return new Running(builder.start(), port, log);
    }

    void await() throws Exception {
      for (int i = 0; i < 600 && process.isAlive(); i++) {
        try {
          new Socket("127.0.0.1", port).close();
          return;
        } catch (IOException e) {
          Thread.sleep(100);
        }
      }
      throw new AssertionError(output());
    }

    String output() throws IOException {
      return Files.readString(log);
    }

    long errors() throws IOException {
      return output().lines().filter(line -> line.contains("\"level\":\"ERROR\"")).count();
    }

    int status() throws InterruptedException {
      assertThat(process.waitFor(60, SECONDS)).isTrue();
      return process.exitValue();
    }
  }

  private static ServerSocket listen() throws IOException {
    return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  }

  private static int freePort() throws IOException {
    try (ServerSocket free = listen()) {
      return free.getLocalPort();
    }
  }

  @BeforeAll
  static void startServer() throws Exception {
    silent = listen();
    String address = "127.0.0.1:" + silent.getLocalPort();
    server =
        Running.start(
            Path.of("."),
            Map.of(
                "DATABASE_URL", "postgresql://me:secret@" + address + "/x",
                "SLOW_API_URL", "http://" + address + "/"));
    server.await();
  }

  @AfterAll
  static void stopServer() throws IOException {
    server.process().destroyForcibly();
    silent.close();
  }

  private static HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.port() + path));
  }

  private static HttpResponse<String> get(String path) throws Exception {
    return CLIENT.send(request(path).build(), BodyHandlers.ofString());
  }

  private static HttpResponse<String> post(String body) throws Exception {
    var chunked = BodyPublishers.fromPublisher(BodyPublishers.ofString(body));
    return CLIENT.send(
        request("/notes").header("Content-Type", "application/json").POST(chunked).build(),
        BodyHandlers.ofString());
  }

  /** All that a connection receives until the server ends it. */
  private static String raw(String path, String header) throws IOException {
    try (Socket socket = new Socket("127.0.0.1", server.port())) {
      socket.setSoTimeout(10_000);
      String request = "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + header + "\r\n\r\n";
      socket.getOutputStream().write(request.getBytes(ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
    }
  }

  @Test
  void settingsOutOfBoundsAreAllNamedWithoutPasswords(@TempDir Path folder) throws Exception {
    Map<String, String> bad =
        Map.of(
            "PORT", "65536",
            "THREADS", "0",
            "MONGODB_POOL_SIZE", "-1",
            "DATABASE_URL", "postgresql://me:secret@host:99999/",
            "DATABASE_POOL_SIZE", "0",
            "FILES_DIR", "pom.xml",
            "SLOW_API_URL", "http:me:secret");
    Running ended = Running.start(folder, bad);
    assertThat(ended.status()).isEqualTo(1);
    assertThat(ended.output()).contains(bad.keySet()).doesNotContain("secret");
  }

  @ParameterizedTest
  @CsvSource({
    "DATABASE_POOL_SIZE, 12abc",
    "DATABASE_POOL_SIZE, 3.5",
    "DATABASE_URL, postgresql://me:secret@host",
    "DATABASE_URL, postgresql://me:secret/@host/x",
    "DATABASE_URL, postgresql://me:1/secret@host/x",
    "MONGODB_URL, mongodb://me:secret@host:99999/x"
  })
  void aSettingOfAnotherTypeIsNamed(String name, String value, @TempDir Path folder)
      throws Exception {
    Running ended = Running.start(folder, Map.of(name, value));
    assertThat(ended.status()).isEqualTo(1);
    assertThat(ended.output()).contains(name).doesNotContain("secret");
  }

  @Test
  void dotEnvIsReadAndTheEnvironmentWins(@TempDir Path folder) throws Exception {
    Files.writeString(
        folder.resolve(".env"),
        "THREADS=0\nDATABASE_POOL_SIZE=0\nFILES_DIR=\nSLOW_API_URL=http:x/?a=b&c=^\n");
    var environment =
        Map.of("DATABASE_POOL_SIZE", "5", "FILES_DIR", "", "SLOW_API_URL", "", "THREADS", "");
    Running ended = Running.start(folder, environment);
    assertThat(ended.status()).isEqualTo(1);
    assertThat(ended.output())
        .contains("THREADS is", "FILES_DIR is", "SLOW_API_URL is")
        .doesNotContain("DATABASE_POOL_SIZE");
  }

  @Test
  void postgresqlIsSilent() throws Exception {
    long start = System.nanoTime();
    long before = server.errors();
    assertThat(get("/agents").statusCode()).isEqualTo(503);
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(15));
    assertThat(server.errors()).isEqualTo(before + 1);
    assertThat(server.output()).doesNotContain("secret");
  }

  @Test
  void theUpstreamIsLate() throws Exception {
    long before = server.errors();
    assertThat(get("/slow_api?calls=3&ms=0").statusCode()).isEqualTo(504);
    assertThat(server.errors()).isEqualTo(before + 1);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3})
  void aMissingChunkEndsTheConnection(int missing) throws Exception {
    long before = server.errors();
    var file =
        GridFsUpload.fromStream(new ByteArrayInputStream(new byte[400_000])).chunkSize(100_000);
    String name = ObjectId.get().toHexString();
    ObjectId id = gridFs.store(file.filename(name).build());
    try {
      Criteria chunk = Criteria.where("files_id").is(id).and("n").is(missing);
      assertThat(mongodb.remove(Query.query(chunk), "fs.chunks").getDeletedCount()).isEqualTo(1);
      String[] response = raw("/gridfs/" + name, "Connection: keep-alive").split("\r\n\r\n", 2);
      if (missing == 0) {
        assertThat(response[0]).startsWith("HTTP/1.1 500 ");
      } else {
        assertThat(response[0]).contains("Content-Length: 400000");
        assertThat(response[1]).hasSizeLessThanOrEqualTo(missing * 100_000).matches("\0*");
      }
      assertThat(server.errors()).isEqualTo(before + 1);
    } finally {
      gridFs.delete(Query.query(Criteria.where("_id").is(id)));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"../pom.xml", "..%2fpom.xml", "%2e%2e/pom.xml", "..%5cpom.xml", "%2fetc%2fpasswd"})
  void pathsThatLeaveTheFolderAreRefused(String name) throws Exception {
    assertThat(raw("/files/" + name, "Connection: close"))
        .matches("(?s)HTTP/1.1 40[04] .*")
        .doesNotContain("com.example");
  }

  @Test
  void aMultipartBodyIsNotParsed() throws Exception {
    assertThat(raw("/index", "Content-Type: multipart/form-data\r\nConnection: close"))
        .startsWith("HTTP/1.1 200 ");
  }

  @Test
  void aChunkedNoteIsStoredOrRefused() throws Exception {
    String title = ObjectId.get().toHexString();
    Query stored = Query.query(Criteria.where("title").is(title));
    try {
      HttpResponse<String> created = post("{\"title\":\"" + title + "\",\"text\":\"é\"}");
      assertThat(created.statusCode()).isEqualTo(201);
      String location = created.headers().firstValue("Location").orElseThrow();
      assertThat(get(location).body()).isEqualTo(created.body());
      assertThat(post("{\"title\":\"" + title + "\"}").statusCode()).isEqualTo(400);
    } finally {
      assertThat(mongodb.remove(stored, "notes").getDeletedCount()).isEqualTo(1);
    }
  }

  @Test
  void sigtermLetsARequestEnd() throws Exception {
    Running other = Running.start(Path.of("."), Map.of());
    other.await();
    String root = "http://127.0.0.1:" + other.port();
    URI index = URI.create(root + "/index");
    CLIENT.send(HttpRequest.newBuilder(index).build(), BodyHandlers.ofString()); // connects
    URI sleep = URI.create(root + "/sleep?ms=4000");
    var inFlight = CLIENT.sendAsync(HttpRequest.newBuilder(sleep).build(), BodyHandlers.ofString());
    Thread.sleep(1500);
    other.process().destroy();
    assertThat(inFlight.get().body()).isEqualTo("{\"slept_ms\":4000}");
    assertThat(other.status()).isEqualTo(143); // a JVM's, whatever its shutdown hooks do
  }
}
