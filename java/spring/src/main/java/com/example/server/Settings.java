package com.example.server;

import com.mongodb.ConnectionString;
import jakarta.validation.constraints.AssertTrue;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import org.hibernate.validator.constraints.URL;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.validation.annotation.Validated;

/**
 * The settings of application.yaml. Those that may hold a password are checked by methods: Spring
 * shows what it refuses.
 */
@ConfigurationProperties("app")
@Validated
record Settings(
    InetAddress host,
    @Min(1) @Max(65535) int port,
    @Min(1) int threads,
    String mongodbUrl,
    @Min(1) int mongodbPoolSize,
    String databaseUrl,
    @Min(1) int databasePoolSize,
    Path filesDir,
    @URL(regexp = "https?://.+") String slowApiUrl) {

  @AssertTrue(message = "MONGODB_URL is not a URL of a MongoDB database")
  public boolean isMongodbUrlValid() {
    try {
      return new ConnectionString(mongodbUrl).getDatabase() != null;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  @AssertTrue(message = "DATABASE_URL is not a URL of a PostgreSQL database")
  public boolean isDatabaseUrlValid() {
    return PostgresqlUrl.isValid(databaseUrl);
  }

  @AssertTrue(message = "FILES_DIR is not a folder")
  public boolean isFilesDirValid() {
    return Files.isDirectory(filesDir);
  }
}
