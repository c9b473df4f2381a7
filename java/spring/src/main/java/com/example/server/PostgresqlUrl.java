package com.example.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.postgresql.Driver;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.web.util.UriUtils;

/** A URL as other PostgreSQL clients take it; JDBC takes no user before the host. */
class PostgresqlUrl implements JdbcConnectionDetails {

  private static final Pattern URL =
      Pattern.compile("postgres(?:ql)?://(?:([^:@/]*)(?::([^@/]*))?@)?(.+)");

  private final Matcher url;

  PostgresqlUrl(String url) {
    this.url = URL.matcher(url);
    if (!this.url.matches() || Driver.parseURL(getJdbcUrl(), null) == null) {
      throw new IllegalArgumentException("no URL of a PostgreSQL database");
    }
  }

  static boolean isValid(String url) {
    try {
      return new PostgresqlUrl(url).getJdbcUrl() != null;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  @Override
  public String getJdbcUrl() {
    return "jdbc:postgresql://" + url.group(3);
  }

  @Override
  public String getUsername() {
    return url.group(1) == null ? null : UriUtils.decode(url.group(1), UTF_8);
  }

  @Override
  public String getPassword() {
    return url.group(2) == null ? null : UriUtils.decode(url.group(2), UTF_8);
  }
}
