package com.example.server;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.mongodb.MongoConnectionPoolClearedException;
import com.mongodb.MongoException;
import com.mongodb.MongoNodeIsRecoveringException;
import com.mongodb.MongoNotPrimaryException;
import com.mongodb.MongoSocketException;
import com.mongodb.MongoTimeoutException;
import java.net.URI;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.apache.tomcat.util.http.InvalidParameterException;
import org.springframework.boot.jackson.JacksonMixin;
import org.springframework.core.codec.CodecException;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.dao.TransientDataAccessException;
import org.springframework.data.mongodb.UncategorizedMongoDbException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.http.converter.json.ProblemDetailJacksonMixin;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.context.request.ServletWebRequest;
import org.springframework.web.context.request.WebRequest;
import org.springframework.web.reactive.function.client.WebClientException;
import org.springframework.web.servlet.mvc.method.annotation.ResponseEntityExceptionHandler;

/** Answers with problem details (RFC 9457), and logs the cause of each 5xx. */
@RestControllerAdvice
class Problems extends ResponseEntityExceptionHandler {

  private static final List<Class<? extends MongoException>> MONGODB_IS_AWAY =
      List.of(
          MongoConnectionPoolClearedException.class,
          MongoNodeIsRecoveringException.class,
          MongoNotPrimaryException.class,
          MongoSocketException.class,
          MongoTimeoutException.class);

  @ExceptionHandler({DataAccessResourceFailureException.class, TransientDataAccessException.class})
  ResponseEntity<Object> databaseIsAway(Exception error, ServletWebRequest request)
      throws Exception {
    return problem(HttpStatus.SERVICE_UNAVAILABLE, error, request);
  }

  /** Spring Data translates none of GridFS's errors, and not all others of MongoDB. */
  @ExceptionHandler({MongoException.class, UncategorizedMongoDbException.class})
  ResponseEntity<Object> mongodb(Exception error, ServletWebRequest request) throws Exception {
    Throwable cause = error instanceof MongoException ? error : error.getCause();
    return MONGODB_IS_AWAY.stream().anyMatch(type -> type.isInstance(cause))
        ? problem(HttpStatus.SERVICE_UNAVAILABLE, error, request)
        : problem(HttpStatus.INTERNAL_SERVER_ERROR, error, request);
  }

  @ExceptionHandler
  ResponseEntity<Object> upstreamIsLate(TimeoutException error, ServletWebRequest request)
      throws Exception {
    return problem(HttpStatus.GATEWAY_TIMEOUT, error, request);
  }

  @ExceptionHandler({WebClientException.class, CodecException.class})
  ResponseEntity<Object> upstreamFails(Exception error, ServletWebRequest request)
      throws Exception {
    return problem(HttpStatus.BAD_GATEWAY, error, request);
  }

  /** Tomcat's, of a query or a form. */
  @ExceptionHandler
  ResponseEntity<Object> parameter(InvalidParameterException error, ServletWebRequest request)
      throws Exception {
    return problem(HttpStatus.BAD_REQUEST, error, request);
  }

  @ExceptionHandler
  ResponseEntity<Object> fault(Exception error, ServletWebRequest request) throws Exception {
    return problem(HttpStatus.INTERNAL_SERVER_ERROR, error, request);
  }

  private ResponseEntity<Object> problem(
      HttpStatus status, Exception error, ServletWebRequest request) throws Exception {
    if (request.getResponse().isCommitted()) {
      throw error; // which ends the connection
    }
    var problem = ProblemDetail.forStatus(status);
    return handleExceptionInternal(error, problem, new HttpHeaders(), status, request);
  }

  @Override
  protected ResponseEntity<Object> handleExceptionInternal(
      Exception error,
      Object body,
      HttpHeaders headers,
      HttpStatusCode status,
      WebRequest request) {
    if (status.is5xxServerError()) {
      logger.error(request.getDescription(false), error);
    }
    var response = super.handleExceptionInternal(error, body, headers, status, request);
    if (response != null && response.getBody() instanceof ProblemDetail problem) {
      problem.setType(URI.create("about:blank"));
      problem.setDetail(status.value() == 400 ? problem.getDetail() : null);
    }
    return response;
  }

  /** In which no path of a request is repeated. */
  @JacksonMixin(ProblemDetail.class)
  @JsonIgnoreProperties("instance")
  @JsonInclude(JsonInclude.Include.NON_EMPTY)
  interface Mixin extends ProblemDetailJacksonMixin {}
}
