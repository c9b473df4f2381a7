package com.example.server;

import com.mongodb.ConnectionString;
import jakarta.validation.constraints.AssertTrue;
import jakarta.validation.constraints.Min;
import java.nio.file.Files;
import java.nio.file.Path;
import org.hibernate.validator.constraints.Range;
import org.postgresql.Driver;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.validation.annotation.Validated;

/** Methods check what may hold a password, as Spring shows the values that it refuses. */
@ConfigurationProperties("app")
@Validated
record Settings(
    @Range(min = 1, max = 65535, message = "PORT is not from 1 to 65535") int port,
    @Min(value = 1, message = "THREADS is less than 1") int threads,
    ConnectionString mongodbUrl,
    @Min(value = 1, message = "MONGODB_POOL_SIZE is less than 1") int mongodbPoolSize,
    String databaseUrl,
    @Min(value = 1, message = "DATABASE_POOL_SIZE is less than 1") int databasePoolSize,
    Path filesDir,
    String slowApiUrl) {

  @AssertTrue(message = "DATABASE_URL is not a URL of PostgreSQL")
  public boolean isDatabaseUrlValid() {
    return databaseUrl.matches("postgres(ql)?://([^@/?]*@)?[^@?]*/[^@?]*(\\?.*)?")
        && Driver.parseURL(jdbcUrl(), null) != null; // it logs parts of what it cannot parse
  }

  @AssertTrue(message = "FILES_DIR is not a folder")
  public boolean isFilesDirValid() {
    return filesDir != null && Files.isDirectory(filesDir);
  }

  @AssertTrue(message = "SLOW_API_URL is not an HTTP URL")
  public boolean isSlowApiUrlValid() {
    return slowApiUrl.matches("https?://[^\\s/?#]+\\S*");
  }

  /** JDBC takes the user as a parameter, and a plus sign as a space. */
  String jdbcUrl() {
    return databaseUrl
        .replace("+", "%2B")
        .replaceFirst("^postgres(ql)?://", "jdbc:postgresql://")
        .replaceFirst("//([^@/?]*)@([^?]*)\\??", "//$2?user=$1&")
        .replaceFirst("user=([^:&]*):", "user=$1&password=");
  }
}
