package com.example.server;

import com.mongodb.MongoClientException;
import com.mongodb.MongoNodeIsRecoveringException;
import com.mongodb.MongoNotPrimaryException;
import com.mongodb.MongoSocketException;
import jakarta.servlet.http.HttpServletResponse;
import java.util.concurrent.TimeoutException;
import org.apache.tomcat.util.http.InvalidParameterException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.codec.CodecException;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.dao.TransientDataAccessException;
import org.springframework.data.mongodb.UncategorizedMongoDbException;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.reactive.function.client.WebClientException;

/** Answers what Spring MVC does not, and logs the cause of each of its 5xx. */
@RestControllerAdvice
class Problems {

  private static final Logger LOGGER = LoggerFactory.getLogger(Problems.class);

  @ExceptionHandler
  ProblemDetail parameter(InvalidParameterException error) {
    return ProblemDetail.forStatus(HttpStatus.BAD_REQUEST);
  }

  @ExceptionHandler
  ProblemDetail upstreamIsLate(TimeoutException error) {
    return problem(HttpStatus.GATEWAY_TIMEOUT, error);
  }

  @ExceptionHandler({CodecException.class, WebClientException.class})
  ProblemDetail upstreamFails(Exception error) {
    return problem(HttpStatus.BAD_GATEWAY, error);
  }

  @ExceptionHandler
  ProblemDetail fault(Exception error, HttpServletResponse response) throws Exception {
    if (response.isCommitted()) {
      throw error; // which ends the connection
    }
    Throwable cause = error instanceof UncategorizedMongoDbException ? error.getCause() : error;
    return isAway(cause)
        ? problem(HttpStatus.SERVICE_UNAVAILABLE, error)
        : problem(HttpStatus.INTERNAL_SERVER_ERROR, error);
  }

  /** Spring translates none of the driver's errors in GridFS, and not all others. */
  private static boolean isAway(Throwable error) {
    return error instanceof DataAccessResourceFailureException
        || error instanceof TransientDataAccessException
        || error instanceof MongoClientException
        || error instanceof MongoNodeIsRecoveringException
        || error instanceof MongoNotPrimaryException
        || error instanceof MongoSocketException;
  }

  private static ProblemDetail problem(HttpStatus status, Exception error) {
    LOGGER.error("{}", status, error);
    return ProblemDetail.forStatus(status);
  }
}
