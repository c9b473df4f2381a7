package com.example.server;

import com.mongodb.ConnectionString;
import jakarta.validation.constraints.AssertTrue;
import jakarta.validation.constraints.Min;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import org.hibernate.validator.constraints.Range;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.validation.annotation.Validated;

/**
 * The settings of application.yaml. Methods check those that may hold a password: Spring shows the
 * values that it refuses.
 */
@ConfigurationProperties("app")
@Validated
record Settings(
    InetAddress host,
    @Range(min = 1, max = 65535, message = "PORT is not from 1 to 65535") int port,
    @Min(value = 1, message = "THREADS is less than 1") int threads,
    String mongodbUrl,
    @Min(value = 1, message = "MONGODB_POOL_SIZE is less than 1") int mongodbPoolSize,
    String databaseUrl,
    @Min(value = 1, message = "DATABASE_POOL_SIZE is less than 1") int databasePoolSize,
    Path filesDir,
    String slowApiUrl) {

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

  @AssertTrue(message = "SLOW_API_URL is not an HTTP URL")
  public boolean isSlowApiUrlValid() {
    return slowApiUrl.matches("https?://[^\\s/?#]+\\S*");
  }
}
