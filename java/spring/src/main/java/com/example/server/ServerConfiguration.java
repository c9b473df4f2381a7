package com.example.server;

import static java.util.concurrent.TimeUnit.SECONDS;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.http.HttpClient;
import java.util.concurrent.Executors;
import org.springframework.boot.http.client.autoconfigure.reactive.ClientHttpConnectorBuilderCustomizer;
import org.springframework.boot.http.client.reactive.JdkClientHttpConnectorBuilder;
import org.springframework.boot.jackson.autoconfigure.JsonMapperBuilderCustomizer;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.boot.mongodb.autoconfigure.MongoClientSettingsBuilderCustomizer;
import org.springframework.boot.webclient.WebClientCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.io.FileSystemResource;
import org.springframework.core.io.Resource;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.service.registry.HttpServiceGroup.ClientType;
import org.springframework.web.service.registry.ImportHttpServices;
import org.springframework.web.servlet.config.annotation.ResourceHandlerRegistry;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.type.LogicalType;

@Configuration(proxyBeanMethods = false)
@ImportHttpServices(
    group = "upstream",
    types = SlowController.Upstream.class,
    clientType = ClientType.WEB_CLIENT)
class ServerConfiguration implements WebMvcConfigurer {

  private final Settings settings;

  ServerConfiguration(Settings settings) {
    this.settings = settings;
  }

  @Override
  public void addResourceHandlers(ResourceHandlerRegistry registry) {
    registry
        .addResourceHandler("/files/*")
        .addResourceLocations(new FileSystemResource(settings.filesDir() + "/"))
        .setEtagGenerator(ServerConfiguration::etag);
  }

  /** By itself, Spring tells versions of a file apart by the second. */
  private static String etag(Resource file) {
    try {
      return "\"%x-%x\"".formatted(file.lastModified(), file.contentLength());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
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
  JdbcConnectionDetails postgresql() {
    return new PostgresqlUrl(settings.databaseUrl());
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

  /** Any answer but a 200 is an error. */
  @Bean
  WebClientCustomizer upstream() {
    return client ->
        client.defaultStatusHandler(
            status -> status.value() != 200, ClientResponse::createException);
  }

  /** As many threads as cores; by default there are as many as calls are answered at once. */
  @Bean
  ClientHttpConnectorBuilderCustomizer<JdkClientHttpConnectorBuilder> connector() {
    return connector ->
        connector
            .withExecutor(Executors.newWorkStealingPool())
            .withHttpClientCustomizer(client -> client.version(HttpClient.Version.HTTP_1_1));
  }
}
