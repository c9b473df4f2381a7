package com.example.server;

import static java.util.concurrent.TimeUnit.SECONDS;

import com.zaxxer.hikari.HikariDataSource;
import java.net.URI;
import java.util.List;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.boot.jackson.autoconfigure.JsonMapperBuilderCustomizer;
import org.springframework.boot.mongodb.autoconfigure.MongoClientSettingsBuilderCustomizer;
import org.springframework.boot.webmvc.autoconfigure.error.ErrorMvcAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.core.io.FileSystemResource;
import org.springframework.util.function.ThrowingFunction;
import org.springframework.web.ErrorResponse;
import org.springframework.web.servlet.config.annotation.ResourceHandlerRegistry;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.type.LogicalType;

@SpringBootApplication(exclude = ErrorMvcAutoConfiguration.class)
@ConfigurationPropertiesScan
public class Application implements WebMvcConfigurer {

  private final Settings settings;

  Application(Settings settings) {
    this.settings = settings;
  }

  public static void main(String[] arguments) {
    SpringApplication.run(Application.class, arguments);
  }

  @Override
  public void addResourceHandlers(ResourceHandlerRegistry registry) {
    registry
        .addResourceHandler("/files/*")
        .addResourceLocations(new FileSystemResource(settings.filesDir() + "/"))
        .setEtagGenerator( // by itself, Spring tells versions of a file apart by the second
            ThrowingFunction.of(
                file -> "\"%x-%x\"".formatted(file.lastModified(), file.contentLength())));
  }

  /** Problem details begin with their type, and repeat nothing of the request, except in a 400. */
  @Override
  public void addErrorResponseInterceptors(List<ErrorResponse.Interceptor> interceptors) {
    interceptors.add(
        (problem, error) -> {
          problem.setType(URI.create("about:blank"));
          problem.setDetail(problem.getStatus() == 400 ? problem.getDetail() : null);
          problem.setInstance(null);
        });
  }

  @Bean
  MongoClientSettingsBuilderCustomizer mongodb() {
    int size = settings.mongodbPoolSize();
    return client ->
        client
            .applyToClusterSettings(cluster -> cluster.serverSelectionTimeout(3, SECONDS))
            .applyToConnectionPoolSettings(pool -> pool.maxSize(size).maxWaitTime(3, SECONDS))
            .applyToSocketSettings(
                socket -> socket.connectTimeout(3, SECONDS).readTimeout(3, SECONDS));
  }

  @Bean
  @ConfigurationProperties("spring.datasource.hikari")
  HikariDataSource postgresql() {
    var pool = new HikariDataSource();
    pool.setJdbcUrl(settings.jdbcUrl());
    return pool;
  }

  /** Numbers and booleans are no text. */
  @Bean
  JsonMapperBuilderCustomizer json() {
    return mapper ->
        mapper.withCoercionConfig(
            LogicalType.Textual,
            text ->
                text.setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail)
                    .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                    .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail));
  }
}
